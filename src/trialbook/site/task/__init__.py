"""The page of a task: what is asked, by what it is judged, and how every trial of it came out."""
