/** The words for what the doctor reports, where they are not those of its report, which is in English. */
export interface DoctorText {
  sections: Readonly<Record<string, string>>;
  /** By the id of the check, without what it is about: `cors https://example.com` is at `cors`. */
  checks: Readonly<Record<string, { title: string; help: string }>>;
}

const noProxyChanges = 'Ein Proxy vor dem Speicher darf Host, Pfad und Query nicht ändern.';
const addPolicy =
  'Führe `npm run doctor -- --fix` aus: Das ergänzt in der Bucket-Policy eine Anweisung, die solche Anfragen ablehnt.';
const secondKey =
  'Signiere Uploads mit einem zweiten Schlüssel, der nur schreiben darf: `S3_UPLOAD_ACCESS_KEY_ID`, `S3_UPLOAD_SECRET_ACCESS_KEY`.';
const addCors =
  'Führe `npm run doctor -- --fix` aus: Das ergänzt im Bucket eine CORS-Regel für diesen Ursprung. Was vor dem Speicher steht (Proxy, CDN), muss OPTIONS-Anfragen und CORS-Header durchlassen.';
const obeyCache =
  'Nimm einen Speicher, der response-cache-control befolgt. Kein Proxy oder CDN davor darf Cache-Control setzen.';
const checksSignatures =
  'Nimm einen Speicher, der Signaturen prüft, und sieh nach, dass an seiner Stelle nichts anderes antwortet.';
const mayRead = `Erlaube dem Zugangsschlüssel s3:GetObject. ${noProxyChanges}`;
const ntp = 'Stelle die Uhren beider Rechner mit NTP (timedatectl, chrony).';

/** What the doctor looks at, by the ids of the checks: what is required, and what to do where it is not so. */
export const doctor: DoctorText = {
  sections: {
    Reach: 'Erreichbarkeit',
    Access: 'Zugang',
    'What the service does': 'Was der Dienst tut',
    'What clients do': 'Was Clients tun',
    Links: 'Links',
    Images: 'Bilder',
    Browsers: 'Browser',
    'What attackers try': 'Was Angreifer versuchen',
    'The doctor': 'Die Prüfung selbst',
  },
  checks: {
    'service-reaches': {
      title: 'Der Dienst erreicht den Objektspeicher',
      help: 'Prüfe `S3_ENDPOINT` (auch http:// oder https://), ob der Speicher läuft, den DNS dieses Rechners und was dazwischen ist: Firewalls, Proxys, Routen. Eine eigene Zertifizierungsstelle nennst du in `NODE_EXTRA_CA_CERTS`.',
    },
    'clients-reach': {
      title: 'Clients erreichen ihn unter der Adresse in signierten URLs',
      help: 'Prüfe `S3_PUBLIC_ENDPOINT` (auch http:// oder https://), ob der Speicher läuft, den DNS dieses Rechners und was dazwischen ist: Firewalls, Proxys, Routen. Eine eigene Zertifizierungsstelle nennst du in `NODE_EXTRA_CA_CERTS`.',
    },
    'address-fits': {
      title: 'Diese Adresse passt zu CADIZ_PUBLIC_URL',
      help: 'Setze `S3_PUBLIC_ENDPOINT` auf die Adresse, unter der Clients den Speicher erreichen: mit https, wenn auch `CADIZ_PUBLIC_URL` mit https beginnt.',
    },
    clock: { title: 'Die Uhren von Dienst und Speicher stimmen überein', help: ntp },
    region: {
      title: 'S3_REGION ist die Region des Buckets',
      help: 'Setze `S3_REGION` auf die Region, mit der der Speicher eingerichtet ist. Sie steht in seiner Konfiguration.',
    },
    credentials: {
      title: 'Der Speicher nimmt Zugangsschlüssel und Geheimnis an',
      help: 'Prüfe `S3_ACCESS_KEY_ID` und `S3_SECRET_ACCESS_KEY`. Stimmen sie, ändert etwas dazwischen Host oder Pfad: Anfragen an `S3_ENDPOINT` müssen unverändert ankommen. Bei Antworten ab 500 hilft das Protokoll des Speichers.',
    },
    'wrong-secret': { title: 'Er lehnt ein falsches Geheimnis ab', help: checksSignatures },
    bucket: {
      title: 'Den Bucket gibt es, und er lässt sich auflisten',
      help: 'Prüfe `S3_BUCKET`, und dass `S3_ENDPOINT` zu einem S3-Speicher führt, nicht zu dessen Konsole. Beim Start legt der Dienst den Bucket an, wenn er darf. Erlaube dem Zugangsschlüssel s3:ListBucket.',
    },
    'path-style': {
      title: 'Adressen mit dem Bucket im Pfad funktionieren',
      help: 'Andere verwendet Cadiz nicht. Setze `S3_ENDPOINT` auf die Adresse des Speichers ohne Bucket.',
    },
    'write-read-remove': {
      title: 'Der Dienst darf schreiben, lesen und entfernen',
      help: 'Erlaube dem Zugangsschlüssel s3:PutObject, s3:GetObject und s3:DeleteObject. Sieh nach, dass nichts davor antwortet oder Antworten aufbewahrt.',
    },
    'absent-is-404': {
      title: 'Ein fehlendes Objekt ist ein 404',
      help: 'Erlaube dem Zugangsschlüssel s3:ListBucket auf den Bucket. Ohne das lässt sich ein fehlender Upload nicht von einem fehlenden Recht unterscheiden.',
    },
    'list-order': {
      title: 'Listen sind nach Bytes sortiert',
      help: `Der Hausmeister verlässt sich darauf und übersähe sonst Uploads: Nimm einen Speicher, der so auflistet wie S3.`,
    },
    'remove-many': {
      title: 'Viele Objekte lassen sich auf einmal entfernen',
      help: 'Erlaube dem Zugangsschlüssel s3:DeleteObject für alle Objekte.',
    },
    'list-uploads': {
      title: 'Aufgegebene Uploads in Teilen lassen sich finden und abbrechen',
      help: 'Erlaube s3:ListBucketMultipartUploads und s3:AbortMultipartUpload. Sonst bleiben aufgegebene Teile liegen und kosten Geld, bis du sie entfernst.',
    },
    versioning: {
      title: 'Was entfernt wurde, ist weg',
      help: 'Schalte die Versionierung ab, oder lass alte Versionen durch eine Lifecycle-Regel nach einigen Tagen entfernen. Damit die Prüfung sie sieht, erlaube s3:GetBucketVersioning.',
    },
    lifecycle: {
      title: 'Keine Lifecycle-Regel entfernt Dateien',
      help: 'Entferne die Regel, außer sie gilt für einen Präfix, den Cadiz nicht benutzt. Bricht sie Uploads in Teilen ab, lass sie länger warten als `UPLOAD_DEADLINE_SECONDS`. Damit die Prüfung Regeln sieht, erlaube s3:GetLifecycleConfiguration.',
    },
    'presigned-put': {
      title: 'Ein signiertes PUT kommt vollständig an',
      help: `Prüfe, dass \`S3_PUBLIC_ENDPOINT\` zum selben Bucket führt und der Schlüssel für Uploads s3:PutObject hat. ${noProxyChanges} Auch Content-Length ist signiert, und große Bodys müssen erlaubt sein.`,
    },
    'presigned-get': {
      title: 'Ein Download hat den Typ und den Namen, den Cadiz ihm gibt',
      help: `${mayRead} Der Speicher muss die Parameter response-* befolgen, und kein Proxy darf diese Header setzen.`,
    },
    'download-cache': {
      title: 'Einen Download behält nur, wer ihn bekommt',
      help: `${obeyCache} Davor darf kein Cache stehen, der ungefragt etwas aufbewahrt.`,
    },
    'wrong-length': {
      title: 'Ein Body von anderer Länge als der signierten wird abgelehnt',
      help: 'Nimm einen Speicher, der das signierte Content-Length durchsetzt, und einen Proxy, der es weitergibt.',
    },
    'both-framings': {
      title: 'Ein Body mit Länge und zugleich in Stücken wird abgelehnt',
      help: 'Stelle einen Proxy davor, der solche Anfragen ablehnt, wie RFC 9112 (6.1) es verlangt; nginx tut das.',
    },
    twice: {
      title: 'Mit einer URL lässt sich nicht ersetzen, was damit hochgeladen wurde',
      help: 'So ist S3. Halte `PRESIGN_TTL_SECONDS` klein, oder nimm den eingebauten Speicher.',
    },
    multipart: {
      title: 'Ein Upload in Teilen funktioniert und lässt sich abbrechen',
      help: 'Erlaube den Zugangsschlüsseln s3:PutObject, s3:ListMultipartUploadParts und s3:AbortMultipartUpload. Ohne sie sind höchstens 5 GiB je Datei möglich, in einem PUT.',
    },
    'link-get': {
      title: 'Browser und CDNs dürfen die Datei hinter einem Link aufbewahren, und zwar begrenzt',
      help: `${obeyCache} Oder setze \`LINKS_STREAM=on\`, dann kann ein CDN vor dem Dienst Dateien aufbewahren.`,
    },
    'link-head': {
      title: 'Ein Link beantwortet HEAD wie GET',
      help: 'Der Proxy oder das CDN vor dem Speicher muss HEAD als HEAD weitergeben (nginx: `proxy_cache_convert_head off`), denn eine Signatur gilt für eine Methode. Oder setze `LINKS_STREAM=on`.',
    },
    'link-oldest': {
      title: 'Die URL hinter einem Link gilt so lange, wie die Weiterleitung aufbewahrt werden darf',
      help: `${ntp} Sieh nach, ob die Bucket-Policy das Alter von Signaturen begrenzt (s3:signatureAge).`,
    },
    'links-cache': {
      title: 'LINKS_CACHE_SECONDS ist, was Caches befolgen werden',
      help: 'Setze `LINKS_CACHE_SECONDS` auf höchstens den genannten Wert, oder `LINKS_STREAM=on`.',
    },
    'links-arrive': {
      title: 'Links erreichen den Dienst unter CADIZ_PUBLIC_URL, und nichts dazwischen bewahrt seine Antworten auf',
      help: 'Setze `CADIZ_PUBLIC_URL` auf die Adresse, unter der Clients den Dienst erreichen. Der Proxy dort muss /l/ und X-Request-Id weitergeben, Cache-Control in Ruhe lassen und befolgen, auch bei anderen Antworten als 200.',
    },
    images: {
      title: 'Bilder lassen sich in anderen Größen herstellen',
      help: 'Führe `npm ci --include=optional` auf einer Plattform aus, die sharp unterstützt, oder setze `IMAGES=off`. Für Vorschaubilder von Videos installiere ffmpeg, oder setze `IMAGES_VIDEO=off`.',
    },
    preflight: { title: 'Eine Seite von {origin} darf hochladen (Preflight)', help: addCors },
    cors: { title: 'Eine Seite von {origin} darf die Antworten lesen, auch das ETag eines Teils', help: addCors },
    'attack-copy-source': { title: 'Eine Upload-URL kann kein anderes Objekt kopieren', help: addPolicy },
    'attack-part-copy-source': {
      title: 'Die URL eines Teils kann kein anderes Objekt kopieren',
      help: `Hiergegen hilft keine Policy. ${secondKey}`,
    },
    'attack-acl': { title: 'Eine Upload-URL kann ihr Objekt nicht öffentlich machen', help: addPolicy },
    'attack-part-headers': { title: 'Die URL eines Teils kann das auch nicht', help: addPolicy },
    'attack-metadata': {
      title: 'Eine Upload-URL speichert nichts als Bytes',
      help: 'Sieh nach, dass nichts anderes das liest, und betreibe den Bucket nicht als Website.',
    },
    'attack-sse-c': {
      title: 'Ein Upload lässt sich nicht mit einem eigenen Schlüssel verschließen',
      help: 'Das schadet nur dem, der es hochlädt. Wenn der Speicher es kann, schalte SSE-C für den Bucket ab.',
    },
    'attack-tampered': { title: 'Eine veränderte URL wird abgelehnt', help: checksSignatures },
    'attack-expired': {
      title: 'Eine abgelaufene URL wird abgelehnt',
      help: 'Prüfe die Uhr des Objektspeichers, und dass er X-Amz-Expires befolgt.',
    },
    'attack-sigv2': {
      title: 'Die alte Signaturversion 2 wird abgelehnt',
      help: 'Wenn der Speicher es kann, schalte sie ab. Ohne das Geheimnis kann niemand so signieren.',
    },
    anonymous: {
      title: 'Ohne signierte URL kann niemand lesen oder schreiben',
      help: 'Entferne öffentliche Rechte vom Bucket: aus seiner Policy, seiner ACL und den ACLs seiner Objekte.',
    },
    'anonymous-cached': {
      title: 'Ohne signierte URL kann niemand lesen, was jemand gerade mit einer gelesen hat',
      help: 'Nimm die ganze Query in den Schlüssel des Caches auf (nginx: `$request_uri`), oder bewahre dort nichts auf.',
    },
    'write-only-key': {
      title: 'Der Schlüssel, der Uploads signiert, darf nur schreiben',
      help: 'Erlaube ihm nur s3:PutObject.',
    },
    time: {
      title: 'Alle Prüfungen wurden rechtzeitig fertig',
      help: 'Finde heraus, warum der Objektspeicher so langsam antwortet. `npm run doctor` nimmt sich so viel Zeit, wie es braucht.',
    },
    left: {
      title: 'Was die Prüfungen angelegt haben, ist wieder entfernt',
      help: 'Entferne es von Hand, und erlaube dem Zugangsschlüssel, aufzulisten, zu entfernen und abzubrechen.',
    },
  },
};
