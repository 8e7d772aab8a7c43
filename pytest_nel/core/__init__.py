"""The vocabulary: values, roles, errors and names that every layer shares."""
