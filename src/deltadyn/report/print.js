// Figures are set to the size of the paper before a page is printed, and back after it.
(function () {
  var paper = { width: 690, height: 880 }, kept = new Map();
  function each(act) {
    document.querySelectorAll(".js-plotly-plot").forEach(function (plot) {
      if (!plot.closest(".screen-only")) act(plot);
    });
  }
  window.addEventListener("beforeprint", function () {
    each(function (plot) {
      var size = { width: plot._fullLayout.width, height: plot._fullLayout.height };
      kept.set(plot, size);
      Plotly.relayout(plot, { width: Math.min(paper.width, size.width),
        height: Math.min(paper.height, size.height) });
    });
  });
  window.addEventListener("afterprint", function () {
    each(function (plot) {
      var size = kept.get(plot);
      if (size) Plotly.relayout(plot, size).then(function () { plot.layout.autosize = true;
        delete plot.layout.width; });
    });
  });
})();
