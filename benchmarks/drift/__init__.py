"""A simulated year of many robots with planted faults, watched night by night."""
