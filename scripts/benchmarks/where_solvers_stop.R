# e1071 or kernlab for where_solvers_stop.py: the dual variables times the labels, positive for label 1.
arguments <- commandArgs(trailingOnly = TRUE)
package <- arguments[1]
kernel <- arguments[2]
table <- as.matrix(read.csv(arguments[3], header = FALSE))
C <- as.numeric(arguments[5])
tolerance <- if (arguments[6] == "1") 1e-10 else 0.001
d <- ncol(table) - 1
x <- unname(table[, 1:d])
y <- factor(table[, d + 1])
dual <- numeric(nrow(x))
if (package == "e1071") {
  library(e1071)
  model <- svm(x, y, kernel = if (kernel == "rbf") "radial" else "linear", cost = C, tolerance = tolerance)
  sign <- if (levels(y)[model$labels[1]] == "1") 1 else -1  # positive for the class of the first row
  dual[model$index] <- sign * model$coefs
  intercept <- -sign * model$rho
} else {
  library(kernlab)
  kpar <- if (kernel == "rbf") list(sigma = 1 / d) else list()
  model <- ksvm(x, y, type = "C-svc", C = C, tol = tolerance,
                kernel = if (kernel == "rbf") "rbfdot" else "vanilladot", kpar = kpar)
  dual[alphaindex(model)[[1]]] <- coef(model)[[1]]  # positive for the second level
  intercept <- -b(model)
}
write(format(c(intercept, dual), digits = 17), arguments[4], ncolumns = 1)
