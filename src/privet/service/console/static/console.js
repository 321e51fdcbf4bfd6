// What a keyboard and a script add; every page works without it.
"use strict";
document.addEventListener("keydown", (event) => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    const field = document.querySelector("#filter, main input:not([type=hidden])");
    if (field) { event.preventDefault(); field.focus(); }
  }
});
document.addEventListener("dragover", (event) => { if (document.querySelector(".drop")) event.preventDefault(); });
document.addEventListener("drop", (event) => {
  const field = document.querySelector(".drop input[type=file]");
  if (field && event.dataTransfer.files.length) { event.preventDefault(); field.files = event.dataTransfer.files; }
});
