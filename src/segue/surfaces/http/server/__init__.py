"""What every request passes, and how routes are declared, described and answered; no route lives here."""
