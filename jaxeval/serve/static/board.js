"use strict";
// Sends the forms of a board: the file as it is, the other fields in the address, a key in a header.
for (const form of document.querySelectorAll("form[data-method]"))
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = new FormData(form), told = form.querySelector("output");
    const [file, key] = [fields.get("file"), fields.get("key")];
    for (const name of ["file", "key"]) fields.delete(name);
    told.textContent = "working ...";
    const send = { method: form.dataset.method, body: file, headers: key ? { "x-key": key } : {} };
    const answer = await fetch(`${form.action}?${new URLSearchParams(fields)}`, send).catch(() => null);
    const text = answer ? await answer.text() : "The server broke off: too large, too many, or away.";
    told.textContent = answer && answer.ok ? "deleted" : text;
    if (!answer || answer.status !== 201) return;
    const made = JSON.parse(text), link = document.createElement("a");
    link.href = link.textContent = made.page;
    told.replaceChildren(link, ` Keep this key, which deletes it: ${made.key}`);
  });
