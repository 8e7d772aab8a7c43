"""Lines and pages made from bundles; nothing is printed here."""
