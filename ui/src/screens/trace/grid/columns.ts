/** The widths of the columns in pixels; 0 if there is no room. The time axis gets the rest. */
export interface Columns {
  names: number;
  duration: number;
  tokens: number;
}
