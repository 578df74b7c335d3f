// Plays the frames of a figure: `replay` holds its div, the frames' times (s) and the length (ms).
(function () {
  var plot = document.getElementById(replay.div), play = document.getElementById("replay-play");
  var slider = document.getElementById("replay-slider");
  var out = document.getElementById("replay-time");
  var times = replay.times, length = replay.length, last = times.length - 1;
  var began = null, from = 0, busy = false, wanted = null;
  var how = { mode: "immediate", frame: { duration: 0, redraw: true } };
  how.transition = { duration: 0 };
  function show(k) {
    slider.value = k;
    out.textContent = times[k].toFixed(2) + " s";
    if (busy) { wanted = k; return; }
    busy = true;
    Plotly.animate(plot, [String(k)], how).then(done, done);
    function done() {
      busy = false;
      plot.dataset.frame = k;
      if (wanted !== null) { var next = wanted; wanted = null; show(next); }
    }
  }
  function stop() { began = null; play.textContent = "Play"; }
  function step(now) {
    if (began === null) return;
    var k = from + Math.max(0, Math.round((now - began) / length * last));
    if (k >= last) { show(last); stop(); return; }
    if (k !== Number(slider.value)) show(k);
    requestAnimationFrame(step);
  }
  play.addEventListener("click", function () {
    if (began !== null) { stop(); return; }
    from = Number(slider.value) >= last ? 0 : Number(slider.value);
    began = performance.now();
    play.textContent = "Pause";
    requestAnimationFrame(step);
  });
  slider.addEventListener("input", function () { stop(); show(Number(slider.value)); });
})();
