"""A forecast as a small page of its own."""

from html import escape

from graphveil.report.charts import error_charts
from graphveil.report.page import page_of
from graphveil.spec.forecast import Forecast

__all__ = ["forecast_html"]


def forecast_html(forecast: Forecast) -> str:
    """Words and plots of the expected error, as one HTML file."""
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in forecast.sentences)
    charts = "".join(f"<figure>{chart}</figure>" for chart in error_charts(forecast))
    title = f"Plan: {forecast.n_samples:,} records, {forecast.n_features} variables, ε = {forecast.budget.epsilon:g}"
    return page_of(title, f'<section>{said}<div class="pair">{charts}</div></section>')
