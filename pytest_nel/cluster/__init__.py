"""Where runs run: the processes of this machine, and the store that remembers them."""
