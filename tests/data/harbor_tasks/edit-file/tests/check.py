"""Reads the settings as a program would."""

import configparser

found = configparser.ConfigParser()
assert found.read("settings.ini"), "there is no settings.ini"
assert found.sections() == ["server"]
assert dict(found["server"]) == {"port": "8080", "host": "127.0.0.1"}
