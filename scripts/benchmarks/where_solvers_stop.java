// Weka's SMO for where_solvers_stop.py: the intercept and the weights of the normalised attributes.
import java.io.File;
import java.io.PrintWriter;
import weka.classifiers.functions.SMO;
import weka.core.Instances;
import weka.core.converters.CSVLoader;
import weka.filters.Filter;
import weka.filters.unsupervised.attribute.NumericToNominal;

class WhereSolversStop {
    public static void main(String[] arguments) throws Exception {
        CSVLoader loader = new CSVLoader();
        loader.setNoHeaderRowPresent(true);
        loader.setSource(new File(arguments[0]));
        NumericToNominal nominal = new NumericToNominal();
        nominal.setAttributeIndices("last");
        Instances data = loader.getDataSet();
        nominal.setInputFormat(data);
        data = Filter.useFilter(data, nominal);
        data.setClassIndex(data.numAttributes() - 1);
        SMO smo = new SMO();
        smo.setC(Double.parseDouble(arguments[2]));
        if (arguments[3].equals("1")) {
            smo.setToleranceParameter(1e-10);
            smo.setEpsilon(1e-14);
        }
        smo.buildClassifier(data);
        double[] weights = new double[data.numAttributes() - 1];
        int[] indices = smo.sparseIndices()[0][1];
        for (int i = 0; i < indices.length; i++)
            if (indices[i] < weights.length)  // the entry of the class attribute is no weight
                weights[indices[i]] = smo.sparseWeights()[0][1][i];
        try (PrintWriter out = new PrintWriter(arguments[1])) {
            out.println(-smo.bias()[0][1]);
            for (double weight : weights)
                out.println(weight);
        }
    }
}
