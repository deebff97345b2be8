"""HTTP as the server speaks it: queries, answers, checks of origin, files of the page."""
