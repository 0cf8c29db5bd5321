/**
 * HTML made safe to show: text, structure and formulas stay, everything that runs, loads, posts, styles or names itself
 * goes.
 *
 * It is the second of three walls: markdown lets no HTML of the author through, and the page's content security policy
 * runs no script but its own.
 */
import DOMPurify from "dompurify"

const purify = DOMPurify(window)

export const sanitise = (html: string): string =>
  purify.sanitize(html, {
    USE_PROFILES: { html: true, mathMl: true },
    ADD_TAGS: ["semantics", "annotation"],
    ADD_ATTR: ["target"],
    FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "dialog", "audio", "video", "map", "area"],
    FORBID_ATTR: ["style", "id", "name", "srcset", "action", "background", "autofocus", "usemap"],
    // Web, mail, pictures by their bytes; and what has no scheme at all, as the values of other attributes.
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/|[^a-z]|[a-z+.-]+(?:[^a-z+.\-:]|$))/i
  })
