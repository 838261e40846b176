# Times R's glasso on one problem: Rscript glasso.R <file of doubles> <p> <alpha> <threshold> <file for the answer>
# Prints the CPU seconds; the answer is written as raw doubles.
suppressPackageStartupMessages(library(glasso))
arguments <- commandArgs(trailingOnly = TRUE)
p <- as.integer(arguments[2])
S <- matrix(readBin(arguments[1], "double", p * p), p)
spent <- system.time(fit <- glasso(S, rho = as.numeric(arguments[3]), thr = as.numeric(arguments[4]), penalize.diagonal = FALSE))
writeBin(as.vector((fit$wi + t(fit$wi)) / 2), arguments[5])
cat(spent[["user.self"]] + spent[["sys.self"]])
