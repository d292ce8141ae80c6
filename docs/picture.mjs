// Draws what a terminal shows: reads text with colour codes from standard input and writes an SVG.
// usage: longhaul --color always inspect FILE | node docs/picture.mjs "title" > docs/inspect.svg
import { readFileSync } from "node:fs";
const title = process.argv[2] ?? "";
const lines = readFileSync(0, "utf8").replace(/\n$/, "").split("\n");
const colors = { 31: "#f47067", 32: "#8ddb8c", 33: "#daaa3f", 36: "#6cb6ff" };
const escape = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const cell = 8.4;
const height = 18;
let body = "";
lines.forEach((line, row) => {
  let style = {};
  let column = 0;
  for (const piece of line.split(/(\x1b\[[0-9;]*m)/)) {
    const code = piece.match(/^\x1b\[([0-9;]*)m$/);
    if (code) {
      for (const number of code[1].split(";")) {
        if (number === "0" || number === "") style = {};
        else if (number === "1") style.bold = true;
        else if (number === "2") style.faint = true;
        else if (colors[number]) style.color = colors[number];
      }
    } else if (piece) {
      const width = [...piece].length;
      const fill = style.color ?? (style.faint ? "#768390" : "#d5dde6");
      const weight = style.bold ? ' font-weight="bold"' : "";
      if (piece.trim()) {
        const x = (20 + column * cell).toFixed(1);
        const y = 52 + row * height;
        const length = (width * cell).toFixed(1);
        body += `<text x="${x}" y="${y}" fill="${fill}"${weight} textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve">${escape(piece)}</text>\n`;
      }
      column += width;
    }
  }
});
const wide = Math.round(40 + 80 * cell);
const high = 52 + lines.length * height;
process.stdout.write(`<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}" role="img" aria-label="${escape(title)}">
<rect width="100%" height="100%" rx="8" fill="#1c2128"/>
<circle cx="20" cy="18" r="5" fill="#f47067"/><circle cx="38" cy="18" r="5" fill="#daaa3f"/><circle cx="56" cy="18" r="5" fill="#8ddb8c"/>
<text x="76" y="22" fill="#768390" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12">${escape(title)}</text>
<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
${body}</g>
</svg>
`);
