"""How a benchmark is written: @benchmark, @scorer, templates."""
