/** Returns the canvas colour of a variable within an element. */
export function colorOf(element: HTMLElement, variable: string): string {
  const probe = element.ownerDocument.createElement('span');
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
