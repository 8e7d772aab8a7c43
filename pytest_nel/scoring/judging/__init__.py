"""How a model judges: what it is asked, how its reply is read, how verdicts become a reward."""
