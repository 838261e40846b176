# A private covariance in R: Rscript covariance.R estimate.json
#
# The file comes from `graphveil fit people.release --method dense -o estimate.json`. Everything here is free: it
# works on published numbers. Wherever a function asks for a number of observations, give n_eff, the number of
# noise-free records that the release is as good as; then its standard errors count privacy too, approximately.

library(jsonlite)

estimate <- fromJSON(commandArgs(trailingOnly = TRUE)[1])
S <- estimate$covariance
dimnames(S) <- list(estimate$columns, estimate$columns)
names(estimate$location) <- estimate$columns
n <- floor(estimate$n_eff)
cat(estimate$guarantee, "\n")
cat("Columns:", estimate$columns, "\nn_eff:", n, "\n")

if (requireNamespace("psych", quietly = TRUE)) {
  factors <- psych::fa(cov2cor(S), nfactors = 1, n.obs = n)
  cat("psych: loadings", round(factors$loadings[, 1], 2), "\n")
}

if (requireNamespace("lavaan", quietly = TRUE)) {
  outcome <- estimate$columns[1]
  model <- paste(outcome, "~", paste(estimate$columns[-1], collapse = " + "))
  fitted <- lavaan::sem(model, sample.cov = S, sample.mean = estimate$location, sample.nobs = n)
  cat("lavaan:", model, "; coefficients", round(lavaan::coef(fitted)[seq_len(nrow(S) - 1)], 3), "\n")
}

if (requireNamespace("qgraph", quietly = TRUE)) {
  network <- qgraph::EBICglasso(S, n)
  cat("qgraph:", sum(network[upper.tri(network)] != 0), "edges\n")
}
