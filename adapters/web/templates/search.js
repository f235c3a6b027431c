"use strict";
// A picker's choices, searched while the words are typed. The same post as its button's, so nothing
// here is needed, and an answer that can't be had changes nothing: the button is still there.
(function () {
  var PAUSE = 200; // milliseconds without a key before the source is asked
  var waiting, running;

  function search(picker) {
    var button = picker.querySelector("button[name=find]");
    var said = new URLSearchParams(new FormData(button.form));
    var mine = (running = new AbortController());
    said.append(button.name, button.value);
    picker.setAttribute("aria-busy", "true");
    fetch(location.href, { method: "POST", body: said, signal: mine.signal, redirect: "error" })
      .then(function (answer) { return answer.ok ? answer.text() : ""; })
      .then(function (text) {
        var page = new DOMParser().parseFromString(text, "text/html");
        var found = page.getElementById(picker.id);
        if (found && mine === running)
          picker.querySelector(".boxes").replaceWith(found.querySelector(".boxes"));
      })
      .catch(function () {})
      .then(function () { if (mine === running) picker.removeAttribute("aria-busy"); });
  }

  // What was found for earlier words, or before a choice was ticked, is out of date.
  function soon(picker, pause) {
    clearTimeout(waiting);
    if (running) running.abort();
    waiting = setTimeout(search, pause, picker);
  }

  addEventListener("input", function (e) {
    var picker = e.target.closest(".picker");
    if (picker && e.target.type === "search") soon(picker, PAUSE);
    else if (picker && picker.hasAttribute("aria-busy")) soon(picker, 0);
  });
  addEventListener("keydown", function (e) {
    if (e.key !== "Enter" || e.target.type !== "search" || e.isComposing) return;
    e.preventDefault(); // Enter would press the form's first button
    soon(e.target.closest(".picker"), 0);
  });
})();
