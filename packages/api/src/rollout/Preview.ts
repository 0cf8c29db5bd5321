/** The beginning of a text on one line, for lists. */

/** At most `max` characters, with `…` if cut; white space is collapsed. */
export const of = (text: string, max: number): string => {
  // Much longer than shown, since white space is collapsed.
  const line = text
    .slice(0, max * 8)
    .replaceAll(/[\s\0]+/g, " ")
    .trim()
  const characters = Array.from(line)
  return (characters.length > max ? `${characters.slice(0, max - 1).join("")}…` : line).toWellFormed()
}
