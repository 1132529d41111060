"""What people get to judge, what they may write, and how their answers come together."""
