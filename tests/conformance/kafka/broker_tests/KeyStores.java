package kafka.server;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.util.Collections;

/** Kafka's tests make key stores of the old type JKS, which the server reads only with an extra package. */
final class KeyStores {
    private KeyStores() {}

    /** Write a key store again as PKCS12, beside the file; returns the path of the copy. */
    static String asPkcs12(String file, String password) {
        char[] secret = password.toCharArray();
        File copy = new File(file + ".p12");
        try (OutputStream out = new FileOutputStream(copy)) {
            KeyStore old = KeyStore.getInstance(new File(file), secret);
            KeyStore made = KeyStore.getInstance("PKCS12");
            made.load(null, secret);
            for (String alias : Collections.list(old.aliases())) {
                if (old.isKeyEntry(alias)) {
                    Key key = old.getKey(alias, secret);
                    made.setKeyEntry(alias, key, secret, old.getCertificateChain(alias));
                } else {
                    made.setCertificateEntry(alias, old.getCertificate(alias));
                }
            }
            made.store(out, secret);
            copy.deleteOnExit();
            return copy.getPath();
        } catch (GeneralSecurityException | IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
