"""The scikit-learn façade: parameters in the constructor, one release in ``fit``, results that end in an underscore."""
