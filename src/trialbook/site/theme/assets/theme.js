// The reader's choice of a theme, taken up before anything is drawn. Without one the system's holds.
"use strict";
try {
  const chosen = localStorage.getItem("trialbook-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // No storage here: the system's theme holds.
}
