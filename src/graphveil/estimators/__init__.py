"""The scikit-learn interface: parameters in the constructor, one release in ``fit``, results with an underscore."""
