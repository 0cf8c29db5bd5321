const entities: { readonly [char: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Text as it may stand in HTML, in quotes too. */
export const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char)
