"""The report: one HTML file with everything that the tables tell, and no need of anything else."""
