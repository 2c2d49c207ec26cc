/** @type {import('next').NextConfig} */
export default {
  // This folder, and not the clone around it.
  turbopack: { root: import.meta.dirname },
};
