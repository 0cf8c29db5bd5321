const entities: { readonly [char: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/** Escapes text for HTML, including attribute values. */
export const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => entities[char] ?? char)
