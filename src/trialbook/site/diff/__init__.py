"""Changes as pages show them: files, lines on both sides, changed words, light syntax, remarks."""
