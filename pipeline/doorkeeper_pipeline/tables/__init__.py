"""Tables in an output folder, and how they change without ever being half new."""
