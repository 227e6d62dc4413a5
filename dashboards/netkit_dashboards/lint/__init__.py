"""What is wrong with a dashboard or a rule, before anybody has to find out at night."""
