"""Faults as tests: real programs and servers, a load, seeded faults, and a checker that compares what was
acknowledged with what is there. `python -m tests.faults --runs 5000 --seed 7` for as long as one likes."""
