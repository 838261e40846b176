# Reference solutions of the graphical lasso from the R package glasso (version 1.11), written to glasso.csv.
# Run from this directory: Rscript glasso.R
library(glasso)

set.seed(20261115)
rows <- list()

solve_case <- function(name, S, rho, diagonal) {
  fit <- glasso(S, rho = rho, thr = 1e-12, maxit = 1e4, penalize.diagonal = diagonal)
  p <- nrow(S)
  index <- expand.grid(i = 1:p, j = 1:p)
  penalty <- if (is.matrix(rho)) rho else matrix(rho, p, p)
  # glasso returns a precision matrix that is symmetric only to its threshold.
  theta <- (fit$wi + t(fit$wi)) / 2
  rows[[length(rows) + 1]] <<- data.frame(
    case = name, diagonal = as.integer(diagonal), i = index$i - 1, j = index$j - 1,
    s = S[as.matrix(index)], alpha = penalty[as.matrix(index)], theta = theta[as.matrix(index)]
  )
}

p <- 15
S <- cor(matrix(rnorm(40 * p), 40) %*% (diag(p) + matrix(rnorm(p * p), p) / 5))
W <- matrix(runif(p * p, 0.05, 0.3), p)
W <- (W + t(W)) / 2
solve_case("number, diagonal penalised", S, 0.1, TRUE)
solve_case("number, diagonal free", S, 0.1, FALSE)
solve_case("matrix, diagonal penalised", S, W, TRUE)
solve_case("matrix, diagonal free", S, W, FALSE)
# Fewer rows than variables: S is singular.
S <- cor(matrix(rnorm(8 * p), 8))
solve_case("singular, diagonal penalised", S, 0.2, TRUE)
solve_case("singular, diagonal free", S, 0.2, FALSE)
# Units far apart: a covariance, not a correlation.
d <- 2^seq(-3, 3, length.out = p)
S <- cov(matrix(rnorm(60 * p), 60) %*% (diag(p) + matrix(rnorm(p * p), p) / 4)) * outer(d, d)
solve_case("covariance, diagonal penalised", S, 0.1, TRUE)

table <- do.call(rbind, rows)
for (column in c("s", "alpha", "theta")) table[[column]] <- sprintf("%.17g", table[[column]])
write.csv(table, "glasso.csv", row.names = FALSE, quote = 1)
