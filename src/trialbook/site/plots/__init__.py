"""Plots as inline SVG, one module a plot: plain numbers in, a drawing and its numbers out."""
