"""What a person looks at: where everything stands now, one session, one run, figures over time."""
