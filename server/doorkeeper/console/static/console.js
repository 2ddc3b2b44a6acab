// What HTML has no element for: copying. Everything else works without this file.
"use strict";
(() => {
  const show = (root) => root.querySelectorAll("[data-copy][hidden]").forEach((one) => { one.hidden = false; });
  document.addEventListener("DOMContentLoaded", () => show(document));
  document.addEventListener("htmx:afterSettle", () => show(document));
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copy);
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(field.value ?? field.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(field);
      field.select?.();
      button.textContent = "Selected; press Ctrl+C";
    }
    setTimeout(() => { button.textContent = label; }, 1500);
  });
})();
