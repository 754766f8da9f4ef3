/** Returns a function that draws whole numbers below its argument, the same ones for the same seed. For tests. */
export function drawing(seed: number): (below: number) => number {
  // Seeds that follow each other would begin alike.
  let state = Math.imul(seed + 1, 2_654_435_761) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
