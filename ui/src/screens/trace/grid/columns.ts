/** The widths of the columns, in pixels; 0 for one that has no room. What is left is the time axis. */
export interface Columns {
  names: number;
  duration: number;
  tokens: number;
}
