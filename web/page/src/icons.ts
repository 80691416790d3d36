// icons.ts: 16 by 16, in the text colour.

const PATHS = {
  play: 'M4.5 2.8v10.4L13 8z',
  pause: 'M4 3h3v10H4zM9 3h3v10H9z',
  worst: 'M8 2l6.5 11.5h-13zM7.3 6.5l.2 3.6h1l.2-3.6zM8 12.3a.8.8 0 1 0 0-1.6.8.8 0 0 0 0 1.6z',
  dark: 'M8 1.5a6.5 6.5 0 1 0 6.5 6.5A5 5 0 0 1 8 1.5z',
  light: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.3.8h1.4v2.4H7.3zM7.3 12.8h1.4v2.4H7.3zM.8 7.3h2.4v1.4H.8zM12.8 7.3h2.4v1.4h-2.4zM2.4 3.4l1-1 1.7 1.7-1 1zM10.9 11.9l1-1 1.7 1.7-1 1zM12.6 2.4l1 1-1.7 1.7-1-1zM4.1 10.9l1 1-1.7 1.7-1-1z',
  help: 'M5.2 5.6A2.8 2.8 0 0 1 8 3a2.7 2.7 0 0 1 2.8 2.6c0 1.3-.7 1.9-1.5 2.5-.5.4-.6.6-.6 1.2v.4H7.2v-.6c0-1.1.5-1.6 1.2-2.1.6-.5.9-.8.9-1.4A1.3 1.3 0 0 0 8 4.4a1.3 1.3 0 0 0-1.3 1.2zM8 13a.95.95 0 1 0 0-1.9.95.95 0 0 0 0 1.9z',
  down: 'M3.5 6l4.5 4.5L12.5 6l-1-1L8 8.5 4.5 5z',
  close: 'M3.5 4.5l1-1L8 7l3.5-3.5 1 1L9 8l3.5 3.5-1 1L8 9l-3.5 3.5-1-1L7 8z',
  frame: 'M2 2h4v1.4H3.4V6H2zM10 2h4v4h-1.4V3.4H10zM2 10h1.4v2.6H6V14H2zM12.6 10H14v4h-4v-1.4h2.6z',
} as const;

export type Icon = keyof typeof PATHS;

export function icon(name: Icon): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(space, 'path');
  path.setAttribute('d', PATHS[name]);
  svg.append(path);
  return svg;
}
