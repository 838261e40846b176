"""What a release asks, in which order, with which share of the budget: public facts and noisy answers alone."""
