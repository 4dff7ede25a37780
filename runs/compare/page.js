// What is drawn for a row has its colour, and shows its name under the pointer.
document.querySelectorAll("[data-colour]").forEach(box => {
  const drawn = document.querySelectorAll(`svg.chart [style*="${box.dataset.colour}"]`)
  drawn.forEach(shape => shape.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "title")).textContent = box.dataset.row)
  box.addEventListener("change", () => drawn.forEach(shape => shape.style.display = box.checked ? "" : "none"))
})
