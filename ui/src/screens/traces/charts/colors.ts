/** Returns the colour that a variable stands for within an element, as a canvas takes it. */
export function colorOf(element: HTMLElement, variable: string): string {
  const probe = element.ownerDocument.createElement('span');
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
