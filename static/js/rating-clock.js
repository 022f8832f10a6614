// Seconds at work on a task and seconds at rest with it open, kept over reloads and sent with the answer.
(() => {
  const REST_AFTER = 60_000;
  let moved = Date.now();
  let looked = Date.now();
  const task = () => document.getElementById("task");
  const place = () => `plumbline:time:${task().dataset.assignment}`;
  const spent = () => {
    try { return JSON.parse(localStorage.getItem(place())) || { active: 0, idle: 0 }; } catch { return { active: 0, idle: 0 }; }
  };
  const tick = () => {
    const now = Date.now();
    const passed = Math.min(now - looked, 5_000) / 1000;
    looked = now;
    if (!task()) return;
    const time = spent();
    if (document.visibilityState === "visible" && now - moved < REST_AFTER) time.active += passed;
    else time.idle += passed;
    try { localStorage.setItem(place(), JSON.stringify(time)); } catch { return; }
  };
  for (const sign of ["pointermove", "pointerdown", "keydown", "scroll", "touchmove", "wheel"]) {
    document.addEventListener(sign, () => { moved = Date.now(); }, { passive: true, capture: true });
  }
  setInterval(tick, 1000);
  document.addEventListener("submit", (event) => {
    const { active, idle } = event.target.elements;
    if (!active || !idle || !task()) return;
    tick();
    const time = spent();
    active.value = time.active.toFixed(1);
    idle.value = time.idle.toFixed(1);
  }, true);
  document.addEventListener("plumbline:stored", (event) => {
    try { localStorage.removeItem(`plumbline:time:${event.detail.assignment}`); } catch { /* nothing was kept */ }
  });
})();
