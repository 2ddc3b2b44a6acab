import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Decodes UTF-8 as Java does: hex in, the code points of the text in hex out, one line each. */
public final class Text {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            byte[] bytes = new byte[line.length() / 2];
            for (int index = 0; index < bytes.length; index++) {
                bytes[index] = (byte) Integer.parseInt(line.substring(2 * index, 2 * index + 2), 16);
            }
            int[] points = new String(bytes, StandardCharsets.UTF_8).codePoints().toArray();
            for (int index = 0; index < points.length; index++) {
                out.append(index == 0 ? "" : " ").append(Integer.toHexString(points[index]));
            }
            out.append("\n");
        }
        System.out.print(out);
    }
}
