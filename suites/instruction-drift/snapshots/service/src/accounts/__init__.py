"""Users, teams and invitations."""
