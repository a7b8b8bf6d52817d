# A classifier in R. RETICULATE_PYTHON names the Python in which scikit-margins is installed.
library(reticulate)
margins <- import("margins")
X <- as.matrix(iris[, 1:4])

classifier <- margins$MarginClassifier(C = 10, eps = 0.001, random_state = 0L) # 0L: an integer
classifier$fit(X, iris$Species) # a factor becomes its labels
print(table(predicted = classifier$predict(X), iris$Species))
for (certificate in classifier$certificates_) cat(py_str(certificate), "\n")

selected <- margins$MarginClassifierCV(cv = 5L, calibration = "sigmoid", random_state = 0L)
selected$fit(X, iris$Species)
print(round(selected$predict_proba(X[51, , drop = FALSE]), 2)) # drop = FALSE: one row stays a matrix

sparse <- Matrix::Matrix(X, sparse = TRUE) # a dgCMatrix becomes a CSC matrix of SciPy
cat(classifier$fit(sparse, iris$Species)$score(sparse, iris$Species), "\n")
